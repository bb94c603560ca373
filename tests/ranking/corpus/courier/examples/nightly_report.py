"""A report every night at two, and a heartbeat every minute."""

from courier import Beat, Courier, Crontab, Every

app = Courier("reports", broker="redis://localhost/1")


@app.task(queue="reports", time_limit=600)
def nightly_report(day=None):
    rows = collect_sales(day)
    send_mail("boss@example.org", "\n".join(f"{name}: {amount}" for name, amount in rows))


@app.task
def heartbeat():
    print("still here")


def collect_sales(day):
    return [("tea", 12), ("biscuits", 30)]


def send_mail(address, text):
    print(address, text)


def main():
    beat = Beat(app)
    beat.add(Crontab("0 2 * * *"), nightly_report)
    beat.add(Every(60), heartbeat)
    beat.run()


if __name__ == "__main__":
    main()
