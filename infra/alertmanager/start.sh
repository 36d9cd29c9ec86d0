#!/bin/sh
# Starts Alertmanager with the addresses of who hears of alerts, which it cannot read from its environment.
set -eu
template=/etc/alertmanager/template.yml
config=/tmp/alertmanager.yml

if [ -n "${PAGE_WEBHOOK_URL:-}" ]; then
  # A chat's or pager's address carries its secret, so it is not printed.
  awk -v page="$PAGE_WEBHOOK_URL" -v notify="${NOTIFY_WEBHOOK_URL:-$PAGE_WEBHOOK_URL}" '
    { gsub(/&/, "\\\\&", page); gsub(/&/, "\\\\&", notify) }
    NR > 0 { sub(/[$]{PAGE_WEBHOOK_URL}/, page); sub(/[$]{NOTIFY_WEBHOOK_URL}/, notify); print }
  ' "$template" > "$config"
else
  echo 'PAGE_WEBHOOK_URL is not set: alerts are seen in Alertmanager only, and nobody is paged' >&2
  awk '/webhook_configs:/ || /- url:/ || /send_resolved:/ { next } { print }' "$template" > "$config"
fi
exec /bin/alertmanager --config.file="$config" --storage.path=/alertmanager
