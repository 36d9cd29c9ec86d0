-- Pauses of a destination: by a person, or by itself once an endpoint has failed for p.pauseAfterMs without one success.
--   failing: failingSince is set by the first failure and taken away by any 2xx.
--   paused: since, by and why are kept in the gate; the sweeper marks its waiters as held, dead-letters what was held for p.heldForMs, and
--   lets one waiter ask every p.probeEveryMs whether a destination that was paused by itself works again.
local PAUSE = { 'paused', 'pausedAt', 'pausedBy', 'pausedReason', 'pausedAuto', 'holdCursor', 'probe', 'probeAt', 'probeTurn' }
local function audit_gate(P, g, action, operator, actor, reason)
  redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'destination.' .. action, 'operator', operator, 'actor', actor, 'destination', g, 'reason', reason)
end
local function pause(P, g, now, by, reason)
  redis.call('HSET', gate(P, g), 'paused', '1', 'pausedAt', now, 'pausedBy', by, 'pausedReason', reason, 'holdCursor', '0')
  redis.call('ZADD', P .. 'gates', now, g) -- who waits here already is marked as held by the sweeper, in bounded steps
end
local function resume(P, g, now, p)
  redis.call('HDEL', gate(P, g), 'failingSince', unpack(PAUSE))
  redis.call('HSET', gate(P, g), 'ramp', 1) -- not a burst: one slot, each success gives one more
  redis.call('ZADD', P .. 'gates', now + p.gatePeriodMs, g)
end
-- A failure of our own says nothing about the endpoint. Returns 'paused' when this result paused it.
local OURS = { internal = 1, configuration = 1 }
local function note_failure(P, d, now, p, class)
  if erp_target(d.destination) or p.pauseAfterMs == 0 or OURS[class] then return '' end
  local g = gate(P, d.destination)
  redis.call('HSETNX', g, 'failingSince', now)
  local v = redis.call('HMGET', g, 'failingSince', 'paused', 'removed')
  if v[2] == '1' or v[3] or now - tonumber(v[1]) < p.pauseAfterMs then return '' end
  local days = math.floor(p.pauseAfterMs / 86400000)
  local span = days > 0 and days .. ' days' or math.floor(p.pauseAfterMs / 1000) .. ' seconds'
  local reason = 'it failed for ' .. span .. ' without one success, at last with ' .. class
  pause(P, d.destination, now, 'breakwater', reason)
  redis.call('HSET', g, 'pausedAuto', '1', 'probeAt', now + p.probeEveryMs)
  audit_gate(P, d.destination, 'auto-pause', d.operator, 'breakwater', reason)
  count(P, 'pauses:auto', 1)
  return 'paused'
end
-- Any 2xx of any delivery. Returns 'resumed' when it ended a pause that no person asked for.
local function note_success(P, d, now, p)
  if erp_target(d.destination) then return '' end
  redis.call('HDEL', gate(P, d.destination), 'failingSince')
  if redis.call('HGET', gate(P, d.destination), 'pausedAuto') ~= '1' then return '' end
  resume(P, d.destination, now, p)
  audit_gate(P, d.destination, 'auto-resume', d.operator, 'breakwater', 'it answered with a success')
  return 'resumed'
end
local BATCH = 100 -- waiters that one look changes; the gate is looked at again soon while there are more
local SOON_MS = 100
-- Those who waited for a slot when the pause came. SCAN gives every member that stays in the list, whatever comes and goes meanwhile.
local function hold_waiters(P, g, now, cursor)
  local page = redis.call('ZSCAN', gate(P, g, 'waiting'), cursor, 'COUNT', BATCH)
  for i = 1, #page[2], 2 do
    local id, trigger, what = parse(page[2][i])
    local d = load(P, id)
    local waits = d and (trigger == 'replay' and d.replayId == what or d.seq == what and (d.status == 'pending' or d.status == 'failed'))
    if waits then hold(P, d, trigger, now) end
  end
  if page[1] == '0' then redis.call('HDEL', gate(P, g), 'holdCursor') return false end
  redis.call('HSET', gate(P, g), 'holdCursor', page[1])
  return true
end
-- Held since the pause, or since it was parked, whichever came later. An ERP's deliveries are never given up like this.
local function expire_held(P, g, now, p, pausedAt)
  if erp_target(g) or now - pausedAt < p.heldForMs then return false end
  local old = redis.call('ZRANGEBYSCORE', gate(P, g, 'waiting'), '-inf', now - p.heldForMs, 'LIMIT', 0, BATCH)
  for _, alarmId in ipairs(old) do
    local id, trigger, what = parse(alarmId)
    local d = load(P, id)
    redis.call('ZREM', gate(P, g, 'waiting'), alarmId)
    if d and trigger == 'schedule' and d.seq == what and not terminal(d) then
      bury(P, d, now, 'held_expired')
      watch_run(P, d)
    end
  end
  return #old == BATCH
end
-- They ask in turn: one that fails for a reason of its own must not be the only one who asks, or an endpoint that is well would stay
-- paused. Places in the line stay, since they say since when each is held.
local function ask_again(P, g, now, p, queued)
  local line = gate(P, g, 'waiting')
  local nth = (tonumber(redis.call('HGET', gate(P, g), 'probeTurn')) or 0) % math.max(1, redis.call('ZCARD', line))
  local alarmId = redis.call('ZRANGE', line, nth, nth)[1]
  if not alarmId then return end
  redis.call('ZREM', line, alarmId)
  local id, trigger, what = parse(alarmId)
  local d = load(P, id)
  if not d or admit(P, d, alarmId, trigger, what, now, p, '') then -- not one that may begin: its own alarm says what is to be done
    if d then redis.call('ZADD', alarms(P, id), 'NX', now, alarmId) end
    return
  end
  redis.call('HSET', gate(P, g), 'probe', id, 'probeAt', now + p.probeEveryMs)
  redis.call('HINCRBY', gate(P, g), 'probeTurn', 1)
  reserve(P, d, now, alarmId, trigger, p, queued)
end
-- One look at a paused gate with waiters.
local function look_at_pause(P, g, now, p, queued)
  redis.call('HSETNX', gate(P, g), 'pausedAt', now)
  local v = redis.call('HMGET', gate(P, g), 'pausedAt', 'pausedAuto', 'probeAt', 'holdCursor')
  local more = v[4] and hold_waiters(P, g, now, v[4])
  more = expire_held(P, g, now, p, tonumber(v[1])) or more
  if v[2] == '1' and tonumber(v[3]) <= now then ask_again(P, g, now, p, queued) end
  if more then redis.call('ZADD', P .. 'gates', 'LT', now + SOON_MS, g) end
end
