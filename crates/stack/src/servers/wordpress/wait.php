<?php
// A page that waits, as for a slow answer from elsewhere. Added by plimsoll.
add_action('template_redirect', function (): void {
    time_nanosleep(intdiv(PLIMSOLL_WAIT_US, 1000000), PLIMSOLL_WAIT_US % 1000000 * 1000);
});
