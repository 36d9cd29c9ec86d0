-- The shadow job of a delivery was brought into line, unless its status changed again meanwhile.
-- KEYS[1] shadows
-- ARGV delivery id, score that was read
-- Returns 1 when removed
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
