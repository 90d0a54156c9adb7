package mlx

// ActiveMemory is the number of bytes that arrays hold.
func ActiveMemory() int { return memory(0) }

// PeakMemory is the most that ActiveMemory was since the start or the last ResetPeakMemory.
func PeakMemory() int { return memory(1) }

// CacheMemory is the number of bytes that MLX keeps for reuse.
func CacheMemory() int { return memory(2) }

// MemoryLimit is the number of bytes above which MLX waits for work to finish before it takes more.
func MemoryLimit() int { return memory(3) }

// ResetPeakMemory starts PeakMemory anew.
func ResetPeakMemory() error { return resetPeakMemory() }

// ClearCache gives what MLX keeps for reuse back to the system.
func ClearCache() error { return clearCache() }

// SetMemoryLimit sets MemoryLimit in bytes and gives the one before.
func SetMemoryLimit(bytes int) (int, error) { return setLimit(0, bytes) }

// SetCacheLimit sets the most bytes that MLX keeps for reuse and gives the limit before; 0 keeps none.
func SetCacheLimit(bytes int) (int, error) { return setLimit(1, bytes) }

// SetWiredLimit sets how many bytes Metal keeps resident and gives the limit before; other devices ignore it.
func SetWiredLimit(bytes int) (int, error) { return setLimit(2, bytes) }
