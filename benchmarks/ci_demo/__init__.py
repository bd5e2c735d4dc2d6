"""Plays GitHub's runner on a repository with five pull requests, and notes what the action says of each."""
