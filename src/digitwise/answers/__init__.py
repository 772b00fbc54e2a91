"""Problems as people write them, and answers to them: by our models, and by anyone else."""
