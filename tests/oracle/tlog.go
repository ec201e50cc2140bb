// tlog.go: what Go's own checksum database library says to our logs.
//
//	tlog check DIR SIZE...   notes, tiles, roots, consistency and inclusion proofs of a log that tlog_tool made
//	tlog note                a new key and a note signed by it: two lines of keys, then the note
//	tlog open VKEY <note     exit 0 when the note is signed by that key
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func fatal(format string, args ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fatal("%v", err)
	}
}

func read(parts ...string) []byte {
	data, err := os.ReadFile(filepath.Join(parts...))
	must(err)
	return data
}

// The paths of c2sp.org/tlog-tiles, which are those of Go without the height.
type tiles string

func (t tiles) Height() int { return 8 }
func (t tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, one := range list {
		path := strings.Replace(one.Path(), "tile/8/", "tile/", 1)
		if one.L < 0 {
			path = strings.Replace(path, "tile/data/", "tile/entries/", 1)
		}
		data, err := os.ReadFile(filepath.Join(string(t), path))
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

type cosigner struct {
	name string
	hash uint32
	pub  ed25519.PublicKey
}

func (c *cosigner) Name() string    { return c.name }
func (c *cosigner) KeyHash() uint32 { return c.hash }
func (c *cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(c.pub, append([]byte(head), msg...), sig[8:])
}

func witness(vkey string) note.Verifier {
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	must(err)
	id, err := strconv.ParseUint(parts[1], 16, 32)
	must(err)
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if key[0] != 4 || binary.BigEndian.Uint32(sum[:]) != uint32(id) {
		fatal("the witness's key is spelled otherwise")
	}
	return &cosigner{parts[0], uint32(id), key[1:]}
}

func hashes(text string) []tlog.Hash {
	var out []tlog.Hash
	for _, line := range strings.Fields(text) {
		h, err := tlog.ParseHash(line)
		must(err)
		out = append(out, h)
	}
	return out
}

func checkProof(dir string, size, index int64, tree tlog.Tree, reader tlog.HashReader, checkpoint []byte) {
	text := string(read(dir, fmt.Sprintf("%d.%d.tlog-proof", size, index)))
	front, behind, _ := strings.Cut(text, "\n\n")
	lines := strings.SplitN(front, "\n", 3)
	if lines[0] != "c2sp.org/tlog-proof@v1" || lines[1] != fmt.Sprintf("index %d", index) || behind != string(checkpoint) {
		fatal("the proof of leaf %d of %d is spelled otherwise", index, size)
	}
	ours := tlog.RecordProof(hashes(strings.Join(lines[2:], "")))
	theirs, err := tlog.ProveRecord(size, index, reader)
	must(err)
	if fmt.Sprint(ours) != fmt.Sprint(theirs) {
		fatal("the proofs of leaf %d of %d differ", index, size)
	}
	entry := sha256.Sum256([]byte(fmt.Sprintf("entry %d", index)))
	must(tlog.CheckRecord(ours, size, tree.Hash, index, tlog.RecordHash(entry[:])))
	// The same entry from its bundle.
	width := 256
	if last := size / 256; index/256 == last {
		width = int(size % 256)
	}
	data, err := tiles(dir).ReadTiles([]tlog.Tile{{H: 8, L: -1, N: index / 256, W: width}})
	must(err)
	at := int(index%256) * 34
	if len(data[0]) != width*34 || !bytes.Equal(data[0][at:at+34], append([]byte{0, 32}, entry[:]...)) {
		fatal("entry %d of %d is not in its bundle", index, size)
	}
}

func check(dir string, sizes []string) {
	verifier, err := note.NewVerifier(string(read(dir, "log.vkey")))
	must(err)
	second := witness(string(read(dir, "witness.vkey")))
	var old tlog.Tree
	checked := 0
	for _, text := range sizes {
		checkpoint := read(dir, text+".checkpoint")
		n, err := note.Open(checkpoint, note.VerifierList(verifier, second))
		must(err)
		if len(n.Sigs) != 2 || len(n.UnverifiedSigs) != 0 {
			fatal("%d signatures hold", len(n.Sigs))
		}
		lines := strings.Split(n.Text, "\n")
		size, err := strconv.ParseInt(lines[1], 10, 64)
		must(err)
		hash, err := tlog.ParseHash(lines[2])
		must(err)
		if lines[0] != verifier.Name() || lines[1] != text || len(lines) != 4 {
			fatal("the checkpoint is spelled otherwise: %q", n.Text)
		}
		tree := tlog.Tree{N: size, Hash: hash}
		// This reader checks every tile that it reads against the root.
		reader := tlog.TileHashReader(tree, tiles(dir))
		root, err := tlog.TreeHash(size, reader)
		must(err)
		if root != hash {
			fatal("the tiles of %d lead to another root", size)
		}
		if old.N > 0 {
			ours := tlog.TreeProof(hashes(string(read(dir, text+".old.proof"))))
			theirs, err := tlog.ProveTree(size, old.N, reader)
			must(err)
			if fmt.Sprint(ours) != fmt.Sprint(theirs) {
				fatal("the proofs from %d to %d differ", old.N, size)
			}
			must(tlog.CheckTree(ours, size, hash, old.N, old.Hash))
			checked++
		}
		for k := int64(0); k < 8; k++ {
			checkProof(dir, size, k*(size-1)/7, tree, reader, checkpoint)
			checked++
		}
		old = tree
	}
	fmt.Println(checked)
}

func main() {
	switch {
	case len(os.Args) > 3 && os.Args[1] == "check":
		check(os.Args[2], os.Args[3:])
	case len(os.Args) == 2 && os.Args[1] == "note":
		skey, vkey, err := note.GenerateKey(rand.Reader, "go.example/key")
		must(err)
		signer, err := note.NewSigner(skey)
		must(err)
		msg, err := note.Sign(&note.Note{Text: "one\n\ntwo é\n"}, signer)
		must(err)
		fmt.Printf("%s\n%s\n%s", vkey, skey, msg)
	case len(os.Args) == 3 && os.Args[1] == "open":
		verifier, err := note.NewVerifier(os.Args[2])
		must(err)
		text, err := io.ReadAll(os.Stdin)
		must(err)
		_, err = note.Open(text, note.VerifierList(verifier))
		must(err)
	default:
		fatal("usage: tlog check DIR SIZE... | note | open VKEY")
	}
}
