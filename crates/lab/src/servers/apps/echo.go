// The pages with echo.
package main

import (
	"bytes"
	"os"

	"github.com/labstack/echo/v4"
)

func page(c echo.Context) error {
	part := bytes.Repeat([]byte("x"), 32)
	switch c.Request().URL.Path {
	case "/204":
		return c.NoContent(204)
	case "/304":
		return c.NoContent(304)
	case "/chunked":
		c.Response().Write(part)
		c.Response().Flush()
		_, err := c.Response().Write(part)
		return err
	case "/big":
		return c.Blob(200, "text/plain", bytes.Repeat(part, 1<<15))
	}
	return c.Blob(200, "text/plain", bytes.Repeat(part, 2))
}

func main() {
	server := echo.New()
	server.HideBanner, server.HidePort = true, true
	server.GET("/:name", page)
	server.HEAD("/:name", page)
	server.Start("127.0.0.1:" + os.Args[1])
}
