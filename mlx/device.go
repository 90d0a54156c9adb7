package mlx

import "fmt"

// Device is a processor: DeviceCPU, DeviceGPU or GPU(i).
type Device uint16

const (
	DeviceCPU Device = 0
	DeviceGPU Device = 1 << 8
)

// GPU is the GPU of an index.
func GPU(index int) Device { return DeviceGPU | Device(index&0xff) }

// IsGPU tells whether d is a GPU.
func (d Device) IsGPU() bool { return d&DeviceGPU != 0 }

// Index is the device's number among those of its kind.
func (d Device) Index() int { return int(d & 0xff) }

func (d Device) String() string {
	if d.IsGPU() {
		return fmt.Sprintf("gpu:%d", d.Index())
	}
	return "cpu"
}

// Devices lists what this MLX can run on.
func Devices() ([]Device, error) { return devices() }

// Info tells what MLX knows of the device, by MLX's own keys (architecture, memory_size …).
func (d Device) Info() (map[string]string, error) { return deviceInfo(d) }

// DefaultDevice is the calling thread's default.
func DefaultDevice() Device { return defaultDevice() }

// SetDefaultDevice sets the calling thread's default.
func SetDefaultDevice(d Device) error { return setDefaultDevice(d) }

// Stream is a queue of work on a device; it belongs to the thread that made it. The zero Stream is none.
type Stream struct{ ctx uintptr }

// NewStream makes a stream. MLX keeps streams until the process ends: make one per engine, not per step.
func NewStream(d Device) (Stream, error) { return newStream(d) }

// DefaultStream is the calling thread's default stream of a device.
func DefaultStream(d Device) (Stream, error) { return defaultStream(d) }

// Valid tells whether there is a stream.
func (s Stream) Valid() bool { return s.ctx != 0 }

// Handle is the stream's ctx in mlx-c, for package native.
func (s Stream) Handle() uintptr { return s.ctx }

// Device is where the stream runs.
func (s Stream) Device() Device { return streamDevice(s) }

// Free lets go of the handle.
func (s Stream) Free() { freeStream(s) }

// Synchronize waits until the stream has done its work.
func Synchronize(s Stream) error { return synchronize(s) }

// Eval computes the arrays and all that they need, and waits.
func Eval(a ...Array) error { return eval(a, false) }

// AsyncEval submits the arrays' computation and returns. On the CPU an error in it can end the process: use Eval there.
func AsyncEval(a ...Array) error { return eval(a, true) }

// RandomSeed sets the seed of the calling thread's default random state, which operations without a key draw from.
func RandomSeed(seed uint64) error { return randomSeed(seed) }
