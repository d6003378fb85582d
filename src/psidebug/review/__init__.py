"""The review app: a person goes through the suspects, decides, retrains, and sees the error move."""
