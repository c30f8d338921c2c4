// The program in the tests' image: reports what it was started with. Ends on /crash; on SIGTERM too, unless STUBBORN.
import http from 'node:http'

process.stdout.on('error', () => {})
process.on('SIGTERM', () => process.env.STUBBORN || process.exit(0))
http
  .createServer((request, response) => {
    if (request.url === '/crash') process.exit(7)
    if (request.url === '/env') return response.end(JSON.stringify(process.env))
    response.end(process.env.GREETING)
  })
  .listen(process.env.PORT, '127.0.0.1', () => console.log(`up with ${process.env.TOKEN}`))
