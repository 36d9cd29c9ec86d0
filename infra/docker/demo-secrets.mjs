// Profile `demo`: writes the demonstration's secrets where real ones would be. What is there already stays.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.env.SECRETS_DIR;
const secrets = {
  DEMO_WEBHOOK_SECRET: 'demo-webhook-secret',
  ADMIN_TOKEN: 'demo-admin-token',
  PUBLISH_TOKEN: 'demo-publish-token',
  ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
  DEMO_RECEIVER_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
};
for (const [name, value] of Object.entries(secrets)) {
  try {
    writeFileSync(join(directory, name), value, { flag: 'wx', mode: 0o440 });
    console.log(`wrote a demonstration secret: ${name}`);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
}
