-- Writes one point of the fleet's history, unless its interval has one: of several consoles the first one writes it.
-- The id of a point is the start of its interval by Redis' own clock, so all consoles mean the same interval.
-- Ids of a stream only grow. Where Redis' clock was ahead and was put right, points of a time to come would refuse every
-- other one until then: they are taken away. A clock that steps back by moments leaves a gap of moments.
-- KEYS[1] history stream
-- ARGV length of the interval, ms; points that are kept; ms by which a point may be ahead; then fields and values of the point
-- Returns 1 where it wrote the point, else 0
local every, kept, ahead = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local id = string.format('%.0f-0', now - now % every)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then
  local lastAt = tonumber(string.match(last[1], '^%d+'))
  if lastAt > now + ahead then
    -- The stream remembers its highest id even without the entry, so it is written anew.
    local past = redis.call('XRANGE', KEYS[1], '-', string.format('(%s', id))
    redis.call('DEL', KEYS[1])
    for _, point in ipairs(past) do
      redis.call('XADD', KEYS[1], point[1], unpack(point[2]))
    end
  elseif lastAt >= now - now % every then
    return 0
  end
end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', kept, id, unpack(ARGV, 4))
return 1
