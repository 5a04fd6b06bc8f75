<?php
$digest = '';
for ($round = 0; $round < ROUNDS; $round++) {
    $digest = md5($digest);
}
header('Content-Length: ' . strlen($digest));
echo $digest;
