<?php
// Object cache that outlives a request, in Redis or APCu. A drop-in of plimsoll, in the place of plugins that do the same.

class WP_Object_Cache
{
    public int $cache_hits = 0;
    public int $cache_misses = 0;
    /** Values of this request by their full names. */
    private array $local = [];
    /** Groups that are kept for this request only. */
    private array $short_lived = [];
    private ?Redis $redis = null;

    public function __construct(private string $store)
    {
        if ($store === 'redis') {
            $this->redis = new Redis();
            $this->redis->pconnect(PLIMSOLL_REDIS);
            $this->redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
        }
    }

    public function keep_short(array $groups): void
    {
        $this->short_lived += array_fill_keys($groups, true);
    }

    public function get(int|string $key, string $group, bool $force = false, ?bool &$found = null): mixed
    {
        return $this->get_multiple([$key], $group, $force, $found)[$key];
    }

    public function get_multiple(array $keys, string $group, bool $force = false, ?bool &$found = null): array
    {
        $values = [];
        $wanted = [];
        foreach ($keys as $key) {
            $name = $this->name($key, $group);
            if (!array_key_exists($name, $this->local) || $force && $this->is_kept($group)) {
                $wanted[$key] = $name;
            }
        }
        if ($wanted && $this->is_kept($group)) {
            $this->fetch($wanted);
        }
        foreach ($keys as $key) {
            $name = $this->name($key, $group);
            $found = array_key_exists($name, $this->local);
            $found ? $this->cache_hits++ : $this->cache_misses++;
            $value = $found ? $this->local[$name] : false;
            $values[$key] = is_object($value) ? clone $value : $value;
        }
        return $values;
    }

    public function set(int|string $key, mixed $value, string $group, int $seconds): bool
    {
        $name = $this->name($key, $group);
        $this->local[$name] = is_object($value) ? clone $value : $value;
        if (!$this->is_kept($group)) {
            return true;
        }
        // In a list, so that false is a value.
        return match (true) {
            $this->store === 'apcu' => apcu_store($name, [$value], max(0, $seconds)),
            $seconds > 0 => $this->redis->setex($name, $seconds, [$value]),
            default => $this->redis->set($name, [$value]),
        };
    }

    public function has(int|string $key, string $group): bool
    {
        $this->get($key, $group, false, $found);
        return $found;
    }

    public function delete(int|string $key, string $group): bool
    {
        $name = $this->name($key, $group);
        $had = array_key_exists($name, $this->local);
        unset($this->local[$name]);
        if ($this->is_kept($group)) {
            $had = ($this->redis ? $this->redis->del($name) > 0 : apcu_delete($name)) || $had;
        }
        return $had;
    }

    public function add_to(int|string $key, int $offset, string $group): int|false
    {
        $value = $this->get($key, $group, true, $found);
        if (!$found) {
            return false;
        }
        $value = max(0, (is_numeric($value) ? (int) $value : 0) + $offset);
        $this->set($key, $value, $group, 0);
        return $value;
    }

    public function flush(): bool
    {
        $this->local = [];
        return match ($this->store) {
            'redis' => $this->redis->flushDb(),
            'apcu' => apcu_clear_cache(),
            default => true,
        };
    }

    public function forget(): bool
    {
        $this->local = [];
        return true;
    }

    private function name(int|string $key, string $group): string
    {
        return 'wp:' . ($group ?: 'default') . ":$key";
    }

    private function is_kept(string $group): bool
    {
        return $this->store !== 'none' && !isset($this->short_lived[$group ?: 'default']);
    }

    /** Fetches values by their names. */
    private function fetch(array $names): void
    {
        $names = array_values($names);
        if ($this->redis) {
            $found = array_filter(array_combine($names, $this->redis->mGet($names)), 'is_array');
        } else {
            $found = apcu_fetch($names) ?: [];
        }
        foreach ($names as $name) {
            unset($this->local[$name]);
            if (isset($found[$name])) {
                $this->local[$name] = $found[$name][0];
            }
        }
    }
}

function wp_cache_init(): void
{
    // Scripts that fill the site run before the cache is there.
    $GLOBALS['wp_object_cache'] = new WP_Object_Cache(PHP_SAPI === 'cli' ? 'none' : PLIMSOLL_OBJECT_CACHE);
}

function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    global $wp_object_cache;
    return !wp_suspend_cache_addition() && !$wp_object_cache->has($key, $group)
        && $wp_object_cache->set($key, $data, $group, (int) $expire);
}

function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    global $wp_object_cache;
    return $wp_object_cache->has($key, $group) && $wp_object_cache->set($key, $data, $group, (int) $expire);
}

function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->set($key, $data, $group, (int) $expire);
}

function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    return $GLOBALS['wp_object_cache']->get($key, $group, $force, $found);
}

function wp_cache_get_multiple($keys, $group = '', $force = false)
{
    return $GLOBALS['wp_object_cache']->get_multiple($keys, $group, $force);
}

function wp_cache_delete($key, $group = '')
{
    return $GLOBALS['wp_object_cache']->delete($key, $group);
}

function wp_cache_incr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->add_to($key, (int) $offset, $group);
}

function wp_cache_decr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->add_to($key, -(int) $offset, $group);
}

function wp_cache_flush()
{
    return $GLOBALS['wp_object_cache']->flush();
}

function wp_cache_flush_runtime()
{
    return $GLOBALS['wp_object_cache']->forget();
}

function wp_cache_supports($feature)
{
    return in_array($feature, ['get_multiple', 'flush_runtime'], true);
}

function wp_cache_add_non_persistent_groups($groups)
{
    $GLOBALS['wp_object_cache']->keep_short((array) $groups);
}

function wp_cache_add_global_groups($groups) {}

function wp_cache_switch_to_blog($blog_id) {}

function wp_cache_close()
{
    return true;
}
