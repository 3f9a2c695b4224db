"""The FHIR target."""
