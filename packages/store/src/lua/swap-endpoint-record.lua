-- Replaces how an endpoint's record is sealed, if the record is still the one that was read. What it says stays, so its version does too.
-- KEYS[1] endpoint, KEYS[2] audit
-- ARGV record that was read, new record, then field, value ... of the audit entry
-- Returns 1 when replaced (also by an earlier run of this command), else 0
local stored = redis.call('HGET', KEYS[1], 'record')
if stored == ARGV[2] then return 1 end
if stored ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'record', ARGV[2])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 100000, '*', unpack(ARGV, 3))
return 1
