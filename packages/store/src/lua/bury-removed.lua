-- Dead-letters those of the given deliveries that are open; their endpoint was removed. An attempt in flight ends by itself, and a
-- success still counts.
-- KEYS[1] gate of the endpoint
-- ARGV prefix, delivery id ...
-- Returns how many were dead-lettered
local P, now, buried = ARGV[1], now_ms(), 0
if redis.call('HGET', KEYS[1], 'removed') ~= '1' then return buried end
for i = 2, #ARGV do
  local d = load(P, ARGV[i])
  if d and close_removed(P, d, now) then buried = buried + 1 end
end
return buried
