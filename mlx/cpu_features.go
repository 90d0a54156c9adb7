package mlx

import "golang.org/x/sys/cpu"

// cpuFeatures names the instruction sets that matter to matrix products; those of other processors are all false.
func cpuFeatures() []string {
	x, a := cpu.X86, cpu.ARM64
	return sortedFeatures(map[string]bool{
		"sse4.1": x.HasSSE41, "sse4.2": x.HasSSE42, "avx": x.HasAVX, "avx2": x.HasAVX2, "fma": x.HasFMA, "bmi2": x.HasBMI2,
		"avx512f": x.HasAVX512F, "avx512bw": x.HasAVX512BW, "avx512vl": x.HasAVX512VL, "avx512vnni": x.HasAVX512VNNI,
		"avx512bf16": x.HasAVX512BF16, "amx-tile": x.HasAMXTile, "amx-int8": x.HasAMXInt8, "amx-bf16": x.HasAMXBF16,
		"asimd": a.HasASIMD, "asimddp": a.HasASIMDDP, "asimdhp": a.HasASIMDHP, "i8mm": a.HasI8MM, "sve": a.HasSVE,
		"sve2": a.HasSVE2,
	})
}
