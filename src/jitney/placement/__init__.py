"""Where values are: devices, meshes of devices, shardings, and the threads that act for devices."""
