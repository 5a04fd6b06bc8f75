import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;

/** The pages with the server of the JDK. */
class Pages {
    static byte[] text(int bytes) {
        byte[] text = new byte[bytes];
        Arrays.fill(text, (byte) 'x');
        return text;
    }

    static void page(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        try (exchange) {
            if (path.equals("/204") || path.equals("/304")) {
                exchange.sendResponseHeaders(Integer.parseInt(path.substring(1)), -1);
            } else if (path.equals("/chunked")) {
                exchange.sendResponseHeaders(200, 0);
                exchange.getResponseBody().write(text(64));
            } else {
                byte[] body = text(path.equals("/big") ? 1 << 20 : 64);
                exchange.sendResponseHeaders(200, isHead ? -1 : body.length);
                if (!isHead) {
                    exchange.getResponseBody().write(body);
                }
            }
        }
    }

    public static void main(String[] arguments) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        server.createContext("/", Pages::page);
        server.start();
    }
}
