"""Whether two runs differ: the same items, the same settings, paired tests.

`settings` says which settings must agree, `items` what each item gave in a run, `differences` tests, `compare` puts
them together for all tasks of two runs, `files` writes what was found.
"""
