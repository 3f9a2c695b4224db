"""Import a decision tree of scikit-learn, refine it over the rows, and compile both.

python examples/02_refine_imported_tree.py
"""

from sklearn.datasets import load_wine
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from mbndt import Rules


def main() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)  # noqa: N806
    X_fit, X_test, y_fit, y_test = train_test_split(  # noqa: N806
        X, y, test_size=0.3, random_state=0, stratify=y
    )
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X_fit, y_fit)
    imported = Rules.from_sklearn(tree, name="cultivar")
    refined = imported.refine(X_fit, y_fit)
    for name, rules in (("imported", imported), ("refined", refined)):
        score = balanced_accuracy_score(y_test, rules.predict(X_test).prediction)
        lines = len(str(rules.compile("sql", dialect="postgres")).splitlines())
        print(
            f"{name}: {len(rules.leaves)} leaves, depth {rules.depth},"
            f" balanced accuracy {score:.3f} on {len(X_test)} other rows,"
            f" {lines} lines of SQL"
        )


if __name__ == "__main__":
    main()
