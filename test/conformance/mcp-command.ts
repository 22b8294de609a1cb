// The command that the MCP suite starts for each scenario. It sends the scenario to the driver in the test process, which has the gateway.
// Usage: node mcp-command.ts DRIVER_URL SERVER_URL
import { argv, env, exit, stderr } from 'node:process';

const [driverUrl = '', serverUrl] = argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = env;
const answer = await fetch(driverUrl, {
  method: 'POST',
  body: JSON.stringify({ scenario, serverUrl, context: JSON.parse(context) as unknown }),
});
if (!answer.ok) {
  stderr.write(`${await answer.text()}\n`);
  exit(1);
}
