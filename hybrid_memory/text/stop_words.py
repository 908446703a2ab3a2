"""Words that say nothing about the subject of a query. They are left out unless the query has no other words."""

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but by can could d did do
    does doing done during each either else ever every few for from further get gets give given go goes had has have
    having he her here hers him his how however i if in into is it its itself just let ll m may me might mine more most
    much must my myself no nor not of off on once one only onto or other our ours out over own per please re s same shall
    she should show so some such t tell than that the their theirs them then there these they this those through to too
    under until up upon us use used uses using ve very via want wants was we were what whatever when where whether which
    while who whom whose why will with within without would you your yours""".split()
)
