import type { Config } from 'jest';
import base from './jest.config.ts';

/** The tests that run the containers; `npm test` runs them after all others. */
const config: Config = {
  ...base,
  testMatch: ['<rootDir>/test/compose/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};

export default config;
