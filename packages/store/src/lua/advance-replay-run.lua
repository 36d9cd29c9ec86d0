-- Asks for the next replays of a bulk run, as far as its rate and its open ones allow. A delivery leaves the run's list in the step
-- in which its replay is asked for, so none is asked for twice, and none is skipped, however many processes drive the run.
-- KEYS[1] run, KEYS[2] its list of deliveries
-- ARGV prefix, policy, run id, at most so many, what BullMQ's keys of an event's claim and of its job begin with
-- Returns { state or 'missing', ms until there may be more to do, alarm id ... whose job must be added }
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local run = ARGV[3]
local v = redis.call('HMGET', KEYS[1], 'state', 'operator', 'mode', 'status', 'acknowledged', 'everyMs', 'destinationEveryMs', 'nextAt', 'mayBeOpen',
  'requested', 'sent', 'failed', 'found')
if v[1] ~= 'running' then redis.call('ZREM', P .. 'replay-active', run); return { v[1] or 'missing', 0 } end
local order = { id = 'bulk.' .. run, mode = v[3], acknowledged = v[5] == '1', run = run, status = v[4] }
local everyMs, destinationEveryMs, nextAt = tonumber(v[6]), tonumber(v[7]), tonumber(v[8])
local open = tonumber(v[10]) - tonumber(v[11]) - tonumber(v[12])
-- What was not asked for in the last half second may be made up for; more would be a burst after every outage.
local function after(at, step) return math.max(at, now - 500) + step end
local LOOK_AGAIN_MS = 250
-- A delivery without a record: one that was there when the run was made has left since. Of one that was named, its event's claim tells, as
-- long as it lives (store/src/retention.ts, isExpired).
local function why_gone(id)
  if v[13] == '1' then return 'expired' end
  local event = string.match(id, '^([^.]+)%.')
  local job = event and redis.call('GET', ARGV[5] .. event)
  return job and redis.call('EXISTS', ARGV[6] .. job, P .. 'event:' .. event) == 0 and 'expired' or 'not_found'
end
local out = { 'running', 0 }
for _ = 1, tonumber(ARGV[4]) do
  if open >= tonumber(v[9]) then out[2] = LOOK_AGAIN_MS; break end
  if nextAt > now then out[2] = math.ceil(nextAt - now); break end
  local id = redis.call('LINDEX', KEYS[2], 0)
  if not id then out[2] = LOOK_AGAIN_MS; break end
  local d = load(P, id)
  local g = d and gate(P, d.destination)
  local allowedAt = d and destinationEveryMs > 0 and tonumber(redis.call('HGET', g, 'replayAt') or 0) or 0
  if allowedAt > now then -- its destination has had enough for now: others first
    redis.call('LMOVE', KEYS[2], KEYS[2], 'LEFT', 'RIGHT')
    out[2] = LOOK_AGAIN_MS
  else
    redis.call('LPOP', KEYS[2])
    out[2] = 0
    local answer = { d and 'not_found' or why_gone(id) }
    if d and d.operator == v[2] then answer = request_replay(P, p, d, now, order) end
    if answer[1] == 'ok' then
      open = open + 1
      nextAt = after(nextAt, everyMs)
      redis.call('HINCRBY', KEYS[1], 'requested', 1)
      if destinationEveryMs > 0 then redis.call('HSET', g, 'replayAt', math.max(allowedAt, now) + destinationEveryMs) end
      out[#out + 1] = answer[2]
    else
      redis.call('HINCRBY', KEYS[1], 'refused:' .. answer[1], 1)
      note_run(P, run, 'refused|' .. answer[1] .. '|' .. id)
    end
    redis.call('HSET', KEYS[1], 'nextAt', nextAt, 'updatedAt', now)
  end
end
settle_run(P, run, now)
local state = redis.call('HGET', KEYS[1], 'state')
out[1] = state
if state == 'running' then redis.call('ZADD', P .. 'replay-active', now + out[2], run) end
return out
