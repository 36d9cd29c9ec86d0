-- Keeps what a scheduled reconciliation found, where its process still holds the lease: one that was stopped and woke would put an
-- old result over a new one.
-- KEYS[1] reconciliation, KEYS[2] lease
-- ARGV identity of the holder, then field, value ...
-- Returns { 1 when it was kept, else 0 }
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return { 0 } end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return { 1 }
