"""What rules are worth: accuracy, explanation size, intervals."""
