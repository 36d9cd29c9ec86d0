import type { Config } from 'jest';

// Node strips the types (Jest >= 30.5.2 does so for a .ts file that no transformer claims), so there is no transformer
// to configure and a stack trace points at the line that was written.
const config: Config = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  injectGlobals: false,
  testMatch: [
    '<rootDir>/{packages,services,infra,examples}/*/test/**/*.test.ts',
    '<rootDir>/test/**/*.test.ts',
  ],
  // Containers have a run of their own, after the others: they would take the time that those measure.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/compose/'],
  modulePathIgnorePatterns: ['<rootDir>/.data'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testTimeout: 30_000,
  maxWorkers: 2,
};

export default config;
