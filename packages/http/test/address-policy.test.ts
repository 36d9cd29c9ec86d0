import { expect, test } from '@jest/globals';
import { createAddressPolicy } from '../src/address-policy.ts';

test('an allowed range covers all its spellings and nothing beside it', () => {
  const policy = createAddressPolicy({ allow: ['127.0.0.0/8', '::ffff:10.1.0.0/112', 'fd12::/16'] });
  for (const address of ['127.9.9.9', '::ffff:127.0.0.1', '10.1.2.3', '::ffff:a01:203', 'fd12::5'])
    expect(policy(address)).toBe(true);
  for (const address of [
    '::1',
    '10.2.0.1',
    'fd13::5',
    '::7f00:1',
    '192.168.0.1',
    'fe80::1%eth0',
    'nonsense',
    '',
  ])
    expect(policy(address)).toBe(false);
});

test('a denied range wins over everything, in all its spellings', () => {
  const policy = createAddressPolicy({
    allow: ['10.0.0.0/8', '64:ff9b::/96', '64:ff9b::808:80a/128'],
    deny: ['10.9.0.0/16', '8.8.8.0/24'],
  });
  for (const address of ['10.1.0.1', '8.8.4.4']) expect(policy(address)).toBe(true);
  for (const address of [
    '10.9.0.1',
    '::ffff:10.9.0.1',
    '8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::808:808',
    '64:ff9b::808:80a',
  ])
    expect(policy(address)).toBe(false);
});

test.each([
  ['169.254.0.0/16', '169.254.169.254'],
  ['0.0.0.0/0', '169.254.169.254'],
  ['100.64.0.0/10', '100.100.100.200'],
  ['0.0.0.0/0', '168.63.129.16'],
  ['fd00::/8', 'fd00:ec2::254'],
  ['::/0', '::ffff:169.254.169.254'],
])('allowing %s does not allow the metadata service at %s', (range, address) => {
  expect(createAddressPolicy({ allow: [range] })(address)).toBe(false);
});

test('a metadata service may be reached by an entry of its own', () => {
  const policy = createAddressPolicy({ allow: ['169.254.169.254/32', 'fd00:ec2::254/128'] });
  expect(policy('169.254.169.254')).toBe(true);
  expect(policy('fd00:ec2::254')).toBe(true);
  expect(policy('169.254.169.253')).toBe(false);
});

test.each([
  ['NAT64', '64:ff9b::/96', '64:ff9b::808:808', '64:ff9b::a00:1'],
  ['local NAT64', '64:ff9b:1::/48', '64:ff9b:1::808:808', '64:ff9b:1::a9fe:a9fe'],
  ['6to4', '2002::/16', '2002:808:808::1', '2002:7f00:1::1'],
  // Teredo writes the client's address with all bits turned over.
  ['Teredo', '2001::/32', '2001:0:1:2:0:0:f7f7:f7f7', '2001:0:1:2:0:0:80ff:fffe'],
  ['compatible addresses', '::/96', '::808:808', '::7f00:1'],
])('allowing %s allows the public addresses in it and no private ones', (_what, range, open, hidden) => {
  expect(createAddressPolicy({ allow: [] })(open)).toBe(false);
  const policy = createAddressPolicy({ allow: [range] });
  expect(policy(open)).toBe(true);
  expect(policy(hidden)).toBe(false);
});

test('the loopback of IPv6 wraps nothing', () => {
  expect(createAddressPolicy({ allow: ['::1/128'] })('::1')).toBe(true);
  expect(createAddressPolicy({ allow: ['::/8'] })('::1')).toBe(true);
});
