"""The papers that come with the program; README.md beside this file is their data card."""
