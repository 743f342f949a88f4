"""Compare runs with paired tests on the same items and settings.

`settings` lists the settings that must agree, `items` reads the result of each item, `differences` tests, `compare`
combines them for all tasks of two or more runs, and `files` writes the comparison.
"""
