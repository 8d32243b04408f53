import penstock as ps

ps.load_components("./libgain.so")
application = ps.Application.parse("""
<application xmlns="urn:penstock:application:1" name="amplify">
  <component name="numbers" class="numbers"><set name="count" value="3"/></component>
  <component name="gain" class="gain"><set name="gain" value="3"/></component>
  <component name="print" class="print"/>
  <stream from="numbers.out" to="gain.in"/>
  <stream from="gain.out" to="print.in"/>
</application>
""")
with ps.Machine() as machine:
    application.start(machine).finish()
