"""Many runs: each done once, here or on a cluster, with all results in one place.

The seam is `drive.run`: it takes jobs, a place and where to work, and returns what became of each job.
"""
