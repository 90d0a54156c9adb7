package process

// PeakMemory is the largest resident size of this process so far in bytes, mapped files included; 0 where the system
// does not tell.
func PeakMemory() int64 { return peak() }
