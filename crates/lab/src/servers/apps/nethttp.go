// The pages with Go's net/http.
package main

import (
	"bytes"
	"net/http"
	"os"
)

func page(w http.ResponseWriter, r *http.Request) {
	part := bytes.Repeat([]byte("x"), 32)
	switch r.URL.Path {
	case "/204":
		w.WriteHeader(204)
	case "/304":
		w.WriteHeader(304)
	case "/chunked":
		w.Write(part)
		w.(http.Flusher).Flush()
		w.Write(part)
	case "/big":
		w.Write(bytes.Repeat(part, 1<<15))
	default:
		w.Write(bytes.Repeat(part, 2))
	}
}

func main() {
	http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(page))
}
