"""The frozen values every stage passes to the next, and the arithmetic they share. Imports numpy only."""
