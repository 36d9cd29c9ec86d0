-- Shared by the scripts that ask for replays; loaded behind gates.lua.
-- o = { id = replay id, mode = 'single'|'restart', acknowledged = boolean, run = id of the bulk run or '', status = the one it must have or '' }
-- Returns {'ok', alarm id} | {'in_flight', waitMs} | {'already', replay id} | {'paused'} | {'resolved'} | {'wrong_status'} | {'expired'} | {'removed'} | {'needs_acknowledgement'};
-- nothing is changed unless it is 'ok'.
local function request_replay(P, p, d, now, o)
  if removed(P, d.destination) then return { 'removed' } end
  if redis.call('HEXISTS', P .. 'event:' .. event_of(d.id), 'leaving') == 1 then return { 'expired' } end
  if d.run > 0 and d.runUntil > now then return { 'in_flight', d.runUntil - now } end
  if d.replayId ~= '' then return { 'already', d.replayId } end
  if d.replayRun ~= '' then return { 'already', d.lastReplayId } end
  if d.status == 'resolved' then return { 'resolved' } end
  if o.status ~= '' and d.status ~= o.status then return { 'wrong_status' } end
  if redis.call('HGET', gate(P, d.destination), 'paused') == '1' then return { 'paused' } end
  local own = policy_of(P, p, d.destination)
  -- What may be at an ERP that can neither look up nor dedupe is posted again only if a person says so.
  local blind = erp_target(d.destination) and d.doubt == 1 and not own.canFind and not own.dedupes
  if (d.status == 'sent' or blind) and not o.acknowledged then return { 'needs_acknowledgement' } end
  if o.mode == 'restart' and d.status == 'failed' and d.restartSeq == d.seq then return { 'already', d.lastReplayId } end
  put(P, d, 'lastReplayId', o.id, 'interruptions', 0)
  if o.run ~= '' then put(P, d, 'replayRun', o.run) end
  if o.mode == 'restart' then
    disarm(P, d)
    put(P, d, 'scheduleMade', 0, 'reason', '', 'lookupFor', '')
    arm(P, d, now, now + p.graceMs)
    put(P, d, 'restartSeq', d.seq)
    if erp_target(d.destination) then put(P, d, 'doubt', 1) end -- it looks first, whatever the target's configuration says
    set_status(P, d, 'failed', now)
    return { 'ok', alarm_id(d) }
  end
  put(P, d, 'replayId', o.id)
  redis.call('ZADD', alarms(P, d.id), now + p.graceMs, d.id .. '-r' .. o.id)
  return { 'ok', d.id .. '-r' .. o.id }
end
