"""What people and agents say: which words of a prompt are its writer's, and which sentences decide something."""
