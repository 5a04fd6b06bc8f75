// The pages with fasthttp.
package main

import (
	"bufio"
	"bytes"
	"os"

	"github.com/valyala/fasthttp"
)

func page(c *fasthttp.RequestCtx) {
	part := bytes.Repeat([]byte("x"), 32)
	switch string(c.Path()) {
	case "/204":
		c.SetStatusCode(204)
	case "/304":
		c.SetStatusCode(304)
	case "/chunked":
		c.SetBodyStreamWriter(func(w *bufio.Writer) {
			w.Write(part)
			w.Flush()
			w.Write(part)
		})
	case "/big":
		c.Write(bytes.Repeat(part, 1<<15))
	default:
		c.Write(bytes.Repeat(part, 2))
	}
}

func main() {
	fasthttp.ListenAndServe("127.0.0.1:"+os.Args[1], page)
}
