-- Removes an entry whose events were accepted, audited in the same step; once, however many retried it at the same time.
-- KEYS[1] entry, KEYS[2] audit, KEYS[3..] lists that may hold it
-- ARGV entry id, operator, source, actor, reason
-- Returns 1 if it was there, else 0
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
for k = 3, #KEYS do redis.call('ZREM', KEYS[k], ARGV[1]) end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 100000, '*', 'action', 'quarantine.retry', 'operator', ARGV[2], 'actor', ARGV[4], 'source', ARGV[3], 'entry', ARGV[1], 'reason', ARGV[5])
return 1
