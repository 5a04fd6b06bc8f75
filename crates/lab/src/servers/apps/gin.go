// The pages with gin.
package main

import (
	"bytes"
	"os"

	"github.com/gin-gonic/gin"
)

func page(c *gin.Context) {
	part := bytes.Repeat([]byte("x"), 32)
	switch c.Request.URL.Path {
	case "/204":
		c.Status(204)
	case "/304":
		c.Status(304)
	case "/chunked":
		c.Writer.Write(part)
		c.Writer.Flush()
		c.Writer.Write(part)
	case "/big":
		c.Data(200, "text/plain", bytes.Repeat(part, 1<<15))
	default:
		c.Data(200, "text/plain", bytes.Repeat(part, 2))
	}
}

func main() {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/:name", page)
	router.HEAD("/:name", page)
	router.Run("127.0.0.1:" + os.Args[1])
}
