#!/bin/sh
# Starts Alertmanager with the addresses of who hears of alerts, which it cannot read from its environment.
set -eu
template=${ALERTMANAGER_TEMPLATE:-/etc/alertmanager/template.yml}
config=${ALERTMANAGER_CONFIG:-/tmp/alertmanager.yml}

# One address alone hears of everything: better a page in the wrong channel than none.
page=${PAGE_WEBHOOK_URL:-${NOTIFY_WEBHOOK_URL:-}}
notify=${NOTIFY_WEBHOOK_URL:-$page}
if [ -n "$page" ]; then
  # A chat's or pager's address carries its secret, so it is not printed. It is text, no pattern: `&` and `\` mean themselves.
  PAGE=$page NOTIFY=$notify awk '
    function put(name, value, at) {
      at = index($0, "${" name "}")
      if (at == 0) return
      gsub(/\047/, "\047\047", value)
      $0 = substr($0, 1, at - 1) "\047" value "\047" substr($0, at + length(name) + 3)
    }
    /^ *#/ { print; next }
    { put("PAGE_WEBHOOK_URL", ENVIRON["PAGE"]); put("NOTIFY_WEBHOOK_URL", ENVIRON["NOTIFY"]); print }
  ' "$template" > "$config"
else
  echo 'PAGE_WEBHOOK_URL is not set: alerts are seen in Alertmanager only, and nobody is paged' >&2
  awk '/webhook_configs:/ || /- url:/ || /send_resolved:/ { next } { print }' "$template" > "$config"
fi
exec "${ALERTMANAGER:-/bin/alertmanager}" --config.file="$config" --storage.path=/alertmanager
