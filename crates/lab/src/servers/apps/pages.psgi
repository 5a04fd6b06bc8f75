my $app = sub {
    my $path = shift->{PATH_INFO};
    return [substr($path, 1), [], []] if $path eq '/204' || $path eq '/304';
    my $text = ['Content-Type' => 'text/plain'];
    if ($path eq '/chunked') {
        return sub {
            my $writer = shift->([200, $text]);
            $writer->write('x' x 32);
            $writer->write('x' x 32);
            $writer->close;
        };
    }
    my $body = 'x' x ($path eq '/big' ? 1 << 20 : 64);
    return [200, [@$text, 'Content-Length' => length $body], [$body]];
};
