-- For sources whose event ids are not signed: may these signed bytes go on to accept under this event?
-- A guard alone proves nothing: its owner may have died, or been refused, before its event was queued. So another id is a replay
-- only once the first one's event exists; until then it has to come again, and after a while it takes the guard over.
-- KEYS[1] guard
-- ARGV event key, ttl ms, how long a claim is given to become an event (ms), prefix of BullMQ's dedupe records, prefix of event
-- records, event id
-- Returns 'ours' | 'busy' | 'replayed', id of the event that these bytes were ('' where an older version claimed them)
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('GET', KEYS[1])
local first, at, id = string.match(held or '', '^([^|]*)|(%d+)|?(.*)$')
if first and first ~= ARGV[1] then
  if redis.call('EXISTS', ARGV[4] .. first, ARGV[5] .. first) > 0 then return {'replayed', id} end
  if now - tonumber(at) < tonumber(ARGV[3]) then return 'busy' end
end
redis.call('SET', KEYS[1], ARGV[1] .. '|' .. now .. '|' .. ARGV[6], 'PX', ARGV[2])
return 'ours'
