// A server whose responses take so many SHA-256 hashes each: its CPU time per request grows with -rounds.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	rounds := flag.Int("rounds", 2000, "hashes of each response")
	flag.Parse()
	http.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		digest := sha256.Sum256(nil)
		for round := 1; round < *rounds; round++ {
			digest = sha256.Sum256(digest[:])
		}
		fmt.Fprintf(response, "%x\n", digest)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
