//go:build !(cgo && mlx)

package mlx

// Available tells whether this build has MLX.
const Available = false

func freeArrays([]Array)     {}
func countArray()            {}
func liveArrays() int        { return 0 }
func cloneArray(Array) Array { return Array{} }
func arrayNdim(Array) int    { return 0 }
func arrayShape(Array) []int { return nil }
func arrayDtype(Array) Dtype { return Bool }
func arrayText(Array) string { return "absent" }

func readArray(Array, []byte) error                          { return ErrNoMLX }
func inRows(Array) (bool, error)                             { return false, ErrNoMLX }
func fromBytes([]byte, []int, Dtype) (Array, error)          { return Array{}, ErrNoMLX }
func fromMapped([]byte, []int, Dtype, func()) (Array, error) { return Array{}, ErrNoMLX }
func eval([]Array, bool) error                               { return ErrNoMLX }
func randomSeed(uint64) error                                { return ErrNoMLX }

func devices() ([]Device, error)                   { return nil, ErrNoMLX }
func deviceInfo(Device) (map[string]string, error) { return nil, ErrNoMLX }
func defaultDevice() Device                        { return DeviceCPU }
func setDefaultDevice(Device) error                { return ErrNoMLX }
func newStream(Device) (Stream, error)             { return Stream{}, ErrNoMLX }
func defaultStream(Device) (Stream, error)         { return Stream{}, ErrNoMLX }
func streamDevice(Stream) Device                   { return DeviceCPU }
func freeStream(Stream)                            {}
func synchronize(Stream) error                     { return ErrNoMLX }

func memory(int) int                 { return 0 }
func setLimit(int, int) (int, error) { return 0, ErrNoMLX }
func clearCache() error              { return ErrNoMLX }
func resetPeakMemory() error         { return ErrNoMLX }

func compile(func(*Scope, []Array) ([]Array, error), bool) (*Compiled, error) { return nil, ErrNoMLX }
func compileMode(bool) error                                                  { return ErrNoMLX }

func (c *Compiled) call(s *Scope, _ []Array) []Array {
	s.Fail(ErrNoMLX)
	return nil
}

func (c *Compiled) free() {}

func loadSafetensors(string, Stream) (map[string]Array, map[string]string, error) {
	return nil, nil, ErrNoMLX
}
func saveSafetensors(string, map[string]Array, map[string]string) error { return ErrNoMLX }
func loadGGUF(string) (*GGUF, error)                                    { return nil, ErrNoMLX }

func (g *GGUF) text(string) (string, bool)    { return "", false }
func (g *GGUF) texts(string) ([]string, bool) { return nil, false }
func (g *GGUF) array(string) (Array, bool)    { return Array{}, false }
func (g *GGUF) close()                        {}

func fillInfo(b *BuildInfo) { b.Problems = append(b.Problems, ErrNoMLX.Error()) }
