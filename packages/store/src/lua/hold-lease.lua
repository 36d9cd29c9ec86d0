-- Takes a lease or holds on to it. Whose it is decides, not whether there is one: a command that was sent again finds its own.
-- KEYS[1] lease
-- ARGV identity, for how long (ms); 0 gives it up
-- Returns { 1 when it is held now, else 0 }
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return { 0 } end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]); return { 0 } end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { 1 }
