"""Small servers on other versions of the SDKs: scripts, run by an interpreter that has one."""
