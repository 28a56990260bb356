"""The emulated board: QEMU, a plug-in that models a core, and the core's cost table."""
